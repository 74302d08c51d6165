// node:string_decoder: https://nodejs.org/api/string_decoder.html
import { StringDecoder } from "node:string_decoder";
import { equal, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("text is the same wherever it is cut", () => {
  const text = "a\u00e9\u20ac\u{1f600}z\u{10ffff}";
  for (const encoding of ["utf8", "utf16le", "base64", "base64url", "hex", "latin1", "ascii"]) {
    const bytes = Buffer.from(text);
    const whole = bytes.toString(encoding);
    for (let size = 1; size < 6; size++) {
      const decoder = new StringDecoder(encoding);
      let joined = "";
      for (let at = 0; at < bytes.length; at += size) joined += decoder.write(bytes.subarray(at, at + size));
      joined += decoder.end();
      equal(joined.replace(/=+(?=.)/g, ""), whole, `${encoding} ${size}`);
    }
  }
});

test("what is not UTF-8 is replaced as soon as it is known", () => {
  const decoder = new StringDecoder();
  equal(decoder.write(Buffer.from([0xe2, 0x82])), "");
  equal(decoder.lastNeed, 1);
  equal(decoder.write(Buffer.from([0x41])), "\ufffdA");
  equal(decoder.write(Buffer.from([0xc0, 0xff])), "\ufffd\ufffd");
  equal(decoder.write(Buffer.from([0xf0, 0x9f])), "");
  equal(decoder.end(), "\ufffd");
  throws(() => new StringDecoder("none"), { code: "ERR_UNKNOWN_ENCODING" });
  throws(() => decoder.write(5), { code: "ERR_INVALID_ARG_TYPE" });
});
