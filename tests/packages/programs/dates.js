// date-fns, dayjs, luxon and moment: parsing, arithmetic, zones and words.
import { addMonths, differenceInCalendarDays, format, formatDistanceStrict, parse } from "date-fns";
import { de } from "date-fns/locale";
import dayjs from "dayjs";
import timezone from "dayjs/plugin/timezone.js";
import utc from "dayjs/plugin/utc.js";
import { DateTime, Duration, Interval } from "luxon";
import moment from "moment";
import { program } from "../program.js";

export default program((same) => {
  const day = new Date(2024, 0, 31, 12);
  same("date-fns", [format(addMonths(day, 1), "yyyy-MM-dd"), differenceInCalendarDays(new Date(2024, 2, 1), day), format(day, "EEEE", { locale: de })], ["2024-02-29", 30, "Mittwoch"]);
  same("parsed", format(parse("03/02/2024 14:05", "dd/MM/yyyy HH:mm", day), "MMM do, h:mm a"), "Feb 3rd, 2:05 PM");
  same("distance", formatDistanceStrict(0, 90_000), "2 minutes");
  dayjs.extend(utc);
  dayjs.extend(timezone);
  same("dayjs", [dayjs.utc("2024-01-31T00:00:00Z").add(1, "month").format("YYYY-MM-DD"), dayjs.utc("2024-07-01T12:00:00Z").tz("America/New_York").format("HH:mm Z")], ["2024-02-29", "08:00 -04:00"]);
  const luxon = DateTime.fromISO("2024-03-30T12:00", { zone: "Europe/Berlin" });
  same("luxon", [luxon.plus({ days: 1 }).toISO(), luxon.setLocale("fr").toFormat("cccc d LLLL"), Duration.fromObject({ hours: 25 }).shiftTo("days", "hours").toISO()], ["2024-03-31T12:00:00.000+02:00", "samedi 30 mars", "P1DT1H"]);
  same("interval", Interval.after(luxon, { days: 2 }).splitBy({ hours: 24 }).length, 2);
  same("moment", [moment.utc("2024-01-31").add(1, "M").format("dddd, MMMM Do YYYY"), moment.utc(0).from(moment.utc(86_400_000)), moment.duration(90, "minutes").humanize()], ["Thursday, February 29th 2024", "a day ago", "2 hours"]);
});
