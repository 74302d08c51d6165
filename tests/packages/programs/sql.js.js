// sql.js: SQLite in WebAssembly.
import initSqlJs from "sql.js";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const SQL = await initSqlJs();
  const db = new SQL.Database();
  db.run("create table t (a integer, b text, c blob); insert into t values (1, 'x', x'0102'), (2, 'y', null)");
  same("exec", db.exec("select a, b from t order by a desc")[0], { columns: ["a", "b"], values: [[2, "y"], [1, "x"]] });
  const statement = db.prepare("select c from t where a = $a");
  same("blob", statement.getAsObject({ $a: 1 }).c, new Uint8Array([1, 2]));
  statement.free();
  db.create_function("double", (n) => n * 2);
  same("function", db.exec("select double(21)")[0].values, [[42]]);
  same("error", await failure(() => db.run("nonsense")), 'near "nonsense": syntax error');
  const copy = new SQL.Database(db.export());
  same("export", copy.exec("select count(*) from t")[0].values, [[2]]);
});
