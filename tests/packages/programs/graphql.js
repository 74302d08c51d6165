// graphql with dataloader: schemas, execution, validation, introspection and batching.
import DataLoader from "dataloader";
import { buildSchema, graphql, GraphQLInt, GraphQLObjectType, GraphQLSchema, GraphQLString, parse, print, subscribe, validate } from "graphql";
import { program } from "../program.js";

export default program(async (same) => {
  const batches = [];
  const loader = new DataLoader(async (ids) => {
    batches.push(ids);
    return ids.map((id) => ({ id, name: `user ${id}` }));
  });
  const schema = buildSchema("type User { id: Int! name: String } type Query { user(id: Int!): User hello(name: String = \"you\"): String fail: String }");
  const rootValue = {
    user: ({ id }) => loader.load(id),
    hello: ({ name }) => `hello ${name}`,
    fail: () => {
      throw new Error("broken");
    },
  };
  const result = await graphql({ schema, rootValue, source: "query ($id: Int!) { a: user(id: $id) { name } b: user(id: 2) { id } hello fail }", variableValues: { id: 1 } });
  same("data", result.data, { a: { name: "user 1" }, b: { id: 2 }, hello: "hello you", fail: null });
  same("errors", result.errors.map((error) => [error.message, error.path]), [["broken", ["fail"]]]);
  same("batches", batches, [[1, 2]]);
  same("invalid", validate(schema, parse("{ nope }")).map((error) => error.message), ['Cannot query field "nope" on type "Query".']);
  same("printed", print(parse("{a(b:[1,2]){c}}")), "{\n  a(b: [1, 2]) {\n    c\n  }\n}");
  async function* ticks() {
    yield { tick: 1 };
    yield { tick: 2 };
  }
  const live = new GraphQLSchema({
    query: new GraphQLObjectType({ name: "Query", fields: { x: { type: GraphQLString } } }),
    subscription: new GraphQLObjectType({ name: "Subscription", fields: { tick: { type: GraphQLInt, subscribe: ticks } } }),
  });
  const seen = [];
  for await (const part of await subscribe({ schema: live, document: parse("subscription { tick }") })) seen.push(part.data.tick);
  same("subscription", seen, [1, 2]);
});
