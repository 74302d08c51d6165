// pngjs, jpeg-js, upng-js and qrcode: pixels there and back.
import jpeg from "jpeg-js";
import { PNG } from "pngjs";
import QRCode from "qrcode";
import UPNG from "upng-js";
import { program } from "../program.js";

export default program(async (same) => {
  const png = new PNG({ width: 2, height: 2 });
  png.data = Buffer.from([255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 9, 9, 0]);
  const bytes = PNG.sync.write(png);
  same("pngjs", [...PNG.sync.read(bytes).data.subarray(0, 8)], [255, 0, 0, 255, 0, 255, 0, 255]);
  const parsed = await new Promise((resolve, reject) => new PNG().parse(bytes, (error, image) => (error ? reject(error) : resolve(image))));
  same("async", [parsed.width, parsed.height, parsed.data[15]], [2, 2, 0]);
  const decoded = UPNG.decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  same("upng", [decoded.width, [...new Uint8Array(UPNG.toRGBA8(decoded)[0]).subarray(0, 4)]], [2, [255, 0, 0, 255]]);
  const grey = jpeg.decode(jpeg.encode({ data: Buffer.alloc(16 * 16 * 4, 128), width: 16, height: 16 }, 90).data);
  same("jpeg", [grey.width, Math.abs(grey.data[0] - 128) < 4], [16, true]);
  const svg = await QRCode.toString("hello", { type: "svg" });
  same("qr code", [svg.startsWith("<svg"), (await QRCode.toBuffer("hello")).subarray(1, 4).toString(), QRCode.create("hello").modules.size], [true, "PNG", 21]);
});
