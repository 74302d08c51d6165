// rxjs: operators, subjects, time and errors.
import { catchError, combineLatest, concatMap, debounceTime, delay, firstValueFrom, from, interval, lastValueFrom, map, mergeMap, of, ReplaySubject, retry, scan, Subject, take, throwError, toArray } from "rxjs";
import { program } from "../program.js";

export default program(async (same) => {
  same("operators", await lastValueFrom(from([1, 2, 3]).pipe(concatMap((n) => of(n * 2).pipe(delay(1))), scan((sum, n) => sum + n, 0), toArray())), [2, 6, 12]);
  same("interval", await lastValueFrom(interval(1).pipe(take(3), toArray())), [0, 1, 2]);
  let tries = 0;
  same("retry", await firstValueFrom(of(1).pipe(mergeMap(() => (++tries < 3 ? throwError(() => new Error("no")) : of("yes"))), retry(5))), "yes");
  same("error", await firstValueFrom(throwError(() => new Error("x")).pipe(catchError((error) => of(error.message)))), "x");
  const subject = new Subject();
  const latest = lastValueFrom(combineLatest([subject.pipe(map((n) => n + 1)), of("a")]));
  subject.next(1);
  subject.complete();
  same("latest", await latest, [2, "a"]);
  const replay = new ReplaySubject(2);
  [1, 2, 3].forEach((n) => replay.next(n));
  replay.complete();
  same("replay", await lastValueFrom(replay.pipe(toArray())), [2, 3]);
  const typed = new Subject();
  const settled = firstValueFrom(typed.pipe(debounceTime(5)));
  ["a", "ab"].forEach((text) => typed.next(text));
  same("debounced", await settled, "ab");
});
