// socket.io-parser and ws's own frames and subprotocols, without a connection.
import { Decoder, Encoder, PacketType } from "socket.io-parser";
import { program } from "../program.js";

export default program((same) => {
  const encoded = new Encoder().encode({ type: PacketType.EVENT, data: ["hello", { n: 1 }, Buffer.from([1, 2])], id: 3, nsp: "/chat" });
  same("encoded", [encoded.length, encoded[0]], [2, '51-/chat,3["hello",{"n":1},{"_placeholder":true,"num":0}]']);
  const decoder = new Decoder();
  let decoded;
  decoder.on("decoded", (packet) => (decoded = packet));
  encoded.forEach((part) => decoder.add(part));
  same("decoded", [decoded.nsp, decoded.id, decoded.data[0], [...decoded.data[2]]], ["/chat", 3, "hello", [1, 2]]);
});
