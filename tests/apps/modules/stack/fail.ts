interface Unused {
  removed: boolean;
}

export async function fail(way: string): Promise<void> {
  if (way === "async") await new Promise((resolve) => setTimeout(resolve, 1));
  const options: Unused = { removed: true };
  if (options.removed) throw new Error(`failed ${way}`);
}
