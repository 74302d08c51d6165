// drizzle-orm: Postgres and SQLite queries, and a database in the process by sql.js.
import { and, eq, gt, sql } from "drizzle-orm";
import { drizzle as drizzleProxy } from "drizzle-orm/pg-proxy";
import { pgTable, serial, text as pgText } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/sql-js";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import initSqlJs from "sql.js";
import { program } from "../program.js";

const users = sqliteTable("users", { id: integer("id").primaryKey(), name: text("name").notNull(), at: integer("at", { mode: "timestamp" }) });
const people = pgTable("people", { id: serial("id").primaryKey(), name: pgText("name") });

export default program(async (same) => {
  const seen = [];
  const pg = drizzleProxy(async (query, parameters) => {
    seen.push([query, parameters]);
    return { rows: [[1, "Ada"]] };
  });
  same("rows", await pg.select().from(people).where(and(eq(people.name, "Ada"), gt(people.id, 0))), [{ id: 1, name: "Ada" }]);
  same("sql", seen, [['select "id", "name" from "people" where ("people"."name" = $1 and "people"."id" > $2)', ["Ada", 0]]]);
  const SQL = await initSqlJs();
  const db = drizzle(new SQL.Database());
  db.run(sql`create table users (id integer primary key, name text not null, at integer)`);
  db.insert(users).values([{ name: "Ada", at: new Date(1000) }, { name: "Bo" }]).run();
  same("select", db.select().from(users).where(eq(users.name, "Ada")).all(), [{ id: 1, name: "Ada", at: "1970-01-01T00:00:01.000Z" }]);
  same("count", db.select({ n: sql`count(*)` }).from(users).get(), { n: 2 });
});
