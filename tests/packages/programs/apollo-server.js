// @apollo/server: operations and its HTTP layer, without a framework.
import { ApolloServer, HeaderMap } from "@apollo/server";
import { program } from "../program.js";

const server = new ApolloServer({
  typeDefs: "type Book { title: String } type Query { books(first: Int): [Book] }",
  resolvers: { Query: { books: (_, { first }, { list }) => list.slice(0, first) } },
});

export default program(async (same) => {
  server.startInBackgroundHandlingStartupErrorsByLoggingAndFailingAllRequests();
  const context = { list: [{ title: "one" }, { title: "two" }] };
  const { body } = await server.executeOperation({ query: "query ($n: Int) { books(first: $n) { title } }", variables: { n: 1 } }, { contextValue: context });
  same("operation", body.singleResult.data, { books: [{ title: "one" }] });
  const headers = new HeaderMap([["content-type", "application/json"]]);
  const httpGraphQLRequest = { method: "POST", headers, search: "", body: { query: "{ books { title } }" } };
  const reply = await server.executeHTTPGraphQLRequest({ httpGraphQLRequest, context: async () => context });
  same("http", JSON.parse(reply.body.string).data.books.length, 2);
  const refused = await server.executeOperation({ query: "{ nope }" }, { contextValue: context });
  same("error", refused.body.singleResult.errors[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
  await server.stop();
});
