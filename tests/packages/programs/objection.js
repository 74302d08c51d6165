// objection on knex: models, relations and the SQL that they make.
import knex from "knex";
import { Model } from "objection";
import { failure, program } from "../program.js";

class Pet extends Model {
  static tableName = "pets";
}
class Person extends Model {
  static tableName = "people";
  static jsonSchema = { type: "object", required: ["name"], properties: { name: { type: "string", minLength: 2 }, age: { type: "integer" } } };
  static relationMappings = { pets: { relation: Model.HasManyRelation, modelClass: Pet, join: { from: "people.id", to: "pets.ownerId" } } };
}

export default program(async (same) => {
  Model.knex(knex({ client: "pg" }));
  same("query", Person.query().where("age", ">", 18).joinRelated("pets").select("people.name").toKnexQuery().toString(), `select "people"."name" from "people" inner join "pets" on "pets"."ownerId" = "people"."id" where "age" > 18`);
  same("model", Person.fromJson({ name: "Ada", age: 36 }).toJSON(), { name: "Ada", age: 36 });
  same("invalid", await failure(() => Person.fromJson({ name: "A" })), "name: must NOT have fewer than 2 characters");
});
