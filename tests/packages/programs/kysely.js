// kysely: typed queries compiled for Postgres, and plugins.
import { CamelCasePlugin, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import { program } from "../program.js";

const dialect = { createAdapter: () => new PostgresAdapter(), createDriver: () => new DummyDriver(), createIntrospector: (db) => new PostgresIntrospector(db), createQueryCompiler: () => new PostgresQueryCompiler() };

export default program(async (same) => {
  const db = new Kysely({ dialect, plugins: [new CamelCasePlugin()] });
  const query = db.selectFrom("users").innerJoin("posts", "posts.userId", "users.id").where("users.firstName", "=", "Ada").where((eb) => eb.or([eb("age", ">", 3), eb("age", "is", null)])).select(["users.id", sql`upper(${sql.ref("title")})`.as("loud")]).compile();
  same("sql", query.sql, 'select "users"."id", upper("title") as "loud" from "users" inner join "posts" on "posts"."user_id" = "users"."id" where "users"."first_name" = $1 and ("age" > $2 or "age" is null)');
  same("parameters", query.parameters, ["Ada", 3]);
  same("insert", db.insertInto("users").values([{ firstName: "a" }, { firstName: "b" }]).returning("id").compile().sql, 'insert into "users" ("first_name") values ($1), ($2) returning "id"');
  same("executed", await db.selectFrom("users").selectAll().execute(), []);
});
