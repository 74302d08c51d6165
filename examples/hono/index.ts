// An API with Hono: https://hono.dev
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";

interface Todo {
  id: number;
  title: string;
  done: boolean;
}

const todos = new Map<number, Todo>([[1, { id: 1, title: "Try Hearth", done: true }]]);
const app = new Hono();

app.get("/", (c) => c.text("GET, POST todos; GET, PATCH, DELETE todos/1\n"));
app.get("/todos", (c) => c.json([...todos.values()]));

app.post("/todos", async (c) => {
  const { title } = await c.req.json();
  if (typeof title !== "string" || title === "") throw new HTTPException(400, { message: "a todo has a title" });
  const todo = { id: Math.max(0, ...todos.keys()) + 1, title, done: false };
  todos.set(todo.id, todo);
  return c.json(todo, 201);
});

app.get("/todos/:id", (c) => c.json(find(c.req.param("id"))));

app.patch("/todos/:id", async (c) => {
  const todo = find(c.req.param("id"));
  const { title = todo.title, done = todo.done } = await c.req.json();
  return c.json(Object.assign(todo, { title, done }));
});

app.delete("/todos/:id", (c) => {
  todos.delete(find(c.req.param("id")).id);
  return c.body(null, 204);
});

app.onError((error, c) => {
  if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
  if (error instanceof SyntaxError) return c.json({ error: "the body is not JSON" }, 400);
  throw error;
});

function find(id: string): Todo {
  const todo = todos.get(Number(id));
  if (!todo) throw new HTTPException(404, { message: `there is no todo ${id}` });
  return todo;
}

export default app;
