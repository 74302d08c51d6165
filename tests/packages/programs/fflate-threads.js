// fflate: compression in threads of its own.
import { gunzip, gzip, strFromU8, strToU8 } from "fflate";
import { program } from "../program.js";

const later = (run, data) => new Promise((resolve, reject) => run(data, (error, result) => (error ? reject(error) : resolve(result))));

export default program(async (same) => {
  same("there and back", strFromU8(await later(gunzip, await later(gzip, strToU8("later")))), "later");
});
