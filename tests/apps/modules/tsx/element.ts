// A very small React.
type Child = string | number | Child[];
type Props = Record<string, unknown> | null;

export const Fragment = "";

export function element(kind: string | ((props: Props) => string), props: Props, ...children: Child[]): string {
  if (typeof kind === "function") return kind({ ...props, children });
  const inside = children.flat(9).join("");
  if (kind === "") return inside;
  const attributes = Object.entries(props ?? {}).map(([name, value]) => ` ${name}="${value}"`).join("");
  return `<${kind}${attributes}>${inside}</${kind}>`;
}
