export const own = "internal";
