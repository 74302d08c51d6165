// mysql2 and sqlstring: formatting and escaping; connections are a matter of their own test.
import mysql from "mysql2";
import { program } from "../program.js";

export default program((same) => {
  same("escape", mysql.escape("it's\n\\"), "'it\\'s\\n\\\\'");
  same("format", mysql.format("select ?? from ?? where a = ? and b in (?) and c = ?", ["x.y", "t", null, [1, "2"], true]), "select `x`.`y` from `t` where a = NULL and b in (1, '2') and c = true");
  same("date", mysql.escape(new Date(Date.UTC(2024, 0, 2, 3, 4, 5, 6)), false, "Z"), "'2024-01-02 03:04:05.006'");
  same("raw", mysql.format("set a = ?", [mysql.raw("now()")]), "set a = now()");
  same("buffer", mysql.escape(Buffer.from([1, 255])), "X'01ff'");
  const pool = mysql.createPool({ host: "localhost", connectionLimit: 2 });
  same("pool", [pool.config.connectionLimit, mysql.Types.VAR_STRING], [2, 253]);
});
