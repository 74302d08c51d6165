import { equal, throws } from "./assert.js";

export async function base64() {
  equal(btoa("hello"), "aGVsbG8=");
  equal(atob("aGVsbG8="), "hello");
  equal(atob(" aGVs bG8 "), "hello");
  const binary = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join("");
  equal(atob(btoa(binary)), binary);
  await throws("InvalidCharacterError", () => btoa("ü🔥"));
  await throws("InvalidCharacterError", () => atob("a"));
  await throws("InvalidCharacterError", () => atob("*"));
}

export function utf8() {
  const bytes = new TextEncoder().encode("aü🔥");
  equal([...bytes], [97, 195, 188, 240, 159, 148, 165]);
  equal(new TextDecoder().decode(bytes), "aü🔥");
  equal(new TextDecoder().decode(new Uint8Array([255])), "\ufffd");
  equal(new TextEncoder().encode("\ud800").join(), "239,191,189");
  const into = new TextEncoder().encodeInto("aü🔥", new Uint8Array(4));
  equal(into, { read: 2, written: 3 });
}

export function split_characters() {
  const decoder = new TextDecoder();
  let text = "";
  for (const byte of new TextEncoder().encode("ü🔥")) text += decoder.decode(new Uint8Array([byte]), { stream: true });
  equal(text + decoder.decode(), "ü🔥");
}

export async function fatal_and_marks() {
  await throws("TypeError", () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])));
  equal(new TextDecoder().decode(new Uint8Array([239, 187, 191, 65])), "A");
  equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 65])).length, 2);
  await throws("RangeError", () => new TextDecoder("no such encoding"));
}

export function other_encodings() {
  equal(new TextDecoder("latin1").encoding, "windows-1252");
  equal(new TextDecoder("latin1").decode(new Uint8Array([228, 128])), "ä€");
  equal(new TextDecoder("utf-16le").decode(new Uint8Array([65, 0, 61, 216, 37, 221])), "A🔥");
  equal(new TextDecoder("shift_jis").decode(new Uint8Array([130, 160])), "あ");
}
