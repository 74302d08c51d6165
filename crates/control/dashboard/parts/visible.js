// Output of apps may contain terminal colours, characters that reverse the direction of text, and invisible ones. They are
// escaped here, so that a line shows all of its content and cannot imitate another.

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const HIDDEN = /[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const LONGEST = 8000;

export function visible(text) {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more)` : text;
  return short
    .replace(CONTROL, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, "0")}`)
    .replace(HIDDEN, (sign) => `<U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}
