import { error, redirect } from "@sveltejs/kit";

export function load({ url }) {
  const kind = url.searchParams.get("kind");
  if (kind === "redirect") redirect(307, "./about/");
  if (kind === "known") error(418, "a teapot");
  throw new Error("must stay private");
}
