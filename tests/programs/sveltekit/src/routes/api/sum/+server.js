import { json } from "@sveltejs/kit";

export function GET({ url }) {
  return json({ sum: Number(url.searchParams.get("a")) + Number(url.searchParams.get("b")) });
}

export async function POST({ request }) {
  return json({ sum: (await request.json()).reduce((a, b) => a + b, 0) }, { status: 201 });
}
