// bcryptjs: known hashes, sync and async.
import bcrypt from "bcryptjs";
import { program } from "../program.js";

export default program(async (same) => {
  same("known", bcrypt.hashSync("bacon", "$2a$04$abcdefghijklmnopqrstuu"), bcrypt.hashSync("bacon", "$2a$04$abcdefghijklmnopqrstuu"));
  same("vector", bcrypt.compareSync("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"), true);
  const hash = await bcrypt.hash("pass", 4);
  same("async", [await bcrypt.compare("pass", hash), await bcrypt.compare("Pass", hash)], [true, false]);
  same("parts", [bcrypt.getRounds(hash), bcrypt.getSalt(hash).length], [4, 29]);
});
