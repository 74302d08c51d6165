import { Colour, type Shape, describe } from "./shapes.ts";
import { later } from "./later";

abstract class Base<T extends object> {
  constructor(protected readonly value: T, private label?: string) {}
  abstract show(): string;
}

class Shown extends Base<Shape> {
  override show(): string {
    return `${describe(this.value)!} ${(this.value as { colour: Colour }).colour satisfies Colour}`;
  }
}

declare const nowhere: unknown;
namespace Tools {
  export const twice = (n: number): number => n * 2;
}
enum Level {
  Low = 1,
  High = Low << 3,
}
const tuple = [1, "x"] as const;
function isText(value: unknown): value is string {
  return typeof value === "string";
}

export default {
  async fetch(request: Request, env: Record<string, string>): Promise<Response> {
    const generic = <T,>(x: T): T => x;
    return new Response([new Shown({ colour: Colour.Red, sides: 3 }).show(), Tools.twice(21), Level.High, Level[8],
      tuple.length, isText("x"), generic(true), await later()].join());
  },
};
