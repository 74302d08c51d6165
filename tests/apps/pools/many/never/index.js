// Waits for nothing, and not for long: its manifest says so.
export default { fetch: () => new Promise(() => {}) };
