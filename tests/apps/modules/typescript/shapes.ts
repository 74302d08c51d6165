export enum Colour {
  Red = "red",
  Blue = "blue",
}
export interface Shape {
  colour: Colour;
  sides: number;
}
export const describe = ({ sides }: Shape): string | undefined => (sides === 3 ? "triangle" : undefined);
