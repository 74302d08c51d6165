export default function () {
  return new Response("function");
}
