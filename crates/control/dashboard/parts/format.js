// Formats numbers, sizes and times for display.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const finer = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Shown for unknown values. */
export const NONE = "–";

export function count(number) {
  return Number.isFinite(number) ? whole.format(number) : NONE;
}

/** Per second. */
export function rate(number) {
  if (!Number.isFinite(number)) return NONE;
  return number > 0 && number < 100 ? fine.format(Math.max(number, 0.1)) : whole.format(number);
}

export function percent(number) {
  return Number.isFinite(number) ? `${fine.format(number)}%` : NONE;
}

export function millis(number) {
  if (!Number.isFinite(number)) return NONE;
  if (number >= 1000) return `${finer.format(number / 1000)} s`;
  return `${(number >= 100 ? whole : number >= 1 ? fine : finer).format(number)} ms`;
}

export function bytes(number) {
  if (!Number.isFinite(number)) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (number >= 1024 && at < units.length - 1) {
    number /= 1024;
    at += 1;
  }
  return `${(at === 0 || number >= 100 ? whole : fine).format(number)} ${units[at]}`;
}

/** A duration in milliseconds, in its two largest units. */
export function span(number) {
  if (!Number.isFinite(number)) return NONE;
  const seconds = Math.floor(number / 1000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${seconds % 60} s`;
  return seconds >= 1 ? `${seconds} s` : `${Math.max(0, Math.round(number))} ms`;
}

/** The local time of day, with the date if it is not today. */
export function clock(time, { precise = false } = {}) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return NONE;
  const two = (number) => String(number).padStart(2, "0");
  const day =
    date.toDateString() === new Date().toDateString() ? "" : `${two(date.getMonth() + 1)}-${two(date.getDate())} `;
  const fraction = precise && !day ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
  return `${day}${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${fraction}`;
}

/** `1 app`, `2 apps` */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
