// knex: SQL for Postgres, MySQL and SQLite without a connection.
import knex from "knex";
import { program } from "../program.js";

export default program((same) => {
  const pg = knex({ client: "pg" });
  const query = pg("users as u").join("posts as p", "p.user_id", "u.id").where("u.age", ">", 18).whereIn("p.kind", ["a", "b"]).orderBy("u.name").limit(5).select("u.*", pg.raw("count(*) as n")).groupBy("u.id");
  same("sql", query.toSQL().toNative(), {
    sql: 'select "u".*, count(*) as n from "users" as "u" inner join "posts" as "p" on "p"."user_id" = "u"."id" where "u"."age" > $1 and "p"."kind" in ($2, $3) group by "u"."id" order by "u"."name" asc limit $4',
    bindings: [18, "a", "b", 5],
  });
  const mysql = knex({ client: "mysql2" });
  same("escaped", mysql("t").where({ name: "O'Hara\\", at: null }).toString(), "select * from `t` where `name` = 'O\\'Hara\\\\' and `at` is null");
  const table = pg.schema.createTable("t", (t) => {
    t.increments("id");
    t.string("name", 40).notNullable().unique();
    t.jsonb("data").defaultTo("{}");
  });
  same("schema", table.toSQL()[0].sql, `create table "t" ("id" serial primary key, "name" varchar(40) not null, "data" jsonb default '{}')`);
  same("upsert", pg("t").insert({ id: 1, name: "x" }).onConflict("id").merge().toString(), `insert into "t" ("id", "name") values (1, 'x') on conflict ("id") do update set "id" = excluded."id", "name" = excluded."name"`);
});
