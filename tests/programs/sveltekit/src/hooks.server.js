/** Runs around every request. */
export async function handle({ event, resolve }) {
  event.locals.visitor = event.cookies.get("visitor") ?? "stranger";
  const response = await resolve(event);
  response.headers.set("x-hook", "ran");
  return response;
}
