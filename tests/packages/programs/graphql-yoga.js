// graphql-yoga as a fetch handler, asked by graphql-request and over an event stream.
import { GraphQLClient, gql } from "graphql-request";
import { createSchema, createYoga } from "graphql-yoga";
import { program } from "../program.js";

const yoga = createYoga({
  logging: false,
  schema: createSchema({
    typeDefs: "type Query { hello(name: String!): String } type Mutation { add(a: Int!, b: Int!): Int } type Subscription { count(to: Int!): Int }",
    resolvers: {
      Query: { hello: (_, { name }, { request }) => `hello ${name} by ${request.method}` },
      Mutation: { add: (_, { a, b }) => a + b },
      Subscription: {
        count: {
          async *subscribe(_, { to }) {
            for (let n = 1; n <= to; n++) yield { count: n };
          },
        },
      },
    },
  }),
});

export default program(
  async (same, origin) => {
    const client = new GraphQLClient(`${origin}/graphql`);
    same("query", await client.request(gql`query ($name: String!) { hello(name: $name) }`, { name: "Ada" }), { hello: "hello Ada by POST" });
    same("mutation", await client.request("mutation { add(a: 2, b: 3) }"), { add: 5 });
    const failed = await client.request("{ nope }").catch((error) => error.response.errors[0].message);
    same("error", failed, 'Cannot query field "nope" on type "Query".');
    const events = await fetch(`${origin}/graphql`, { method: "POST", body: JSON.stringify({ query: "subscription { count(to: 2) }" }), headers: { "content-type": "application/json", accept: "text/event-stream" } });
    const text = await events.text();
    same("events", [text.includes('data: {"data":{"count":1}}'), text.includes('data: {"data":{"count":2}}'), text.includes("event: complete")], [true, true, true]);
  },
  (request) => yoga.fetch(request),
);
