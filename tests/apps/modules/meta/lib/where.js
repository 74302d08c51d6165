export const where = import.meta.dirname;
