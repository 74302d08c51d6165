import { getCollection } from "astro:content";

export async function GET() {
  const posts = await getCollection("posts");
  return new Response(JSON.stringify(posts.map((post) => post.data.title)));
}
