// axios: JSON, interceptors, errors, forms and cancellation, against itself.
import axios from "axios";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const client = axios.create({ baseURL: origin, headers: { "x-client": "yes" } });
    client.interceptors.request.use((config) => {
      config.params = { ...config.params, added: 1 };
      return config;
    });
    const got = await client.get("/echo", { params: { a: ["x", "y"] } });
    same("get", [got.status, got.data.query, got.data.client], [200, "?a[]=x&a[]=y&added=1", "yes"]);
    const posted = await client.post("/echo", { deep: { n: 1 } });
    same("post", [posted.data.method, posted.data.type, posted.data.body], ["POST", "application/json", '{"deep":{"n":1}}']);
    const form = await client.postForm("/echo", { name: "x" });
    same("form", [form.data.type.startsWith("multipart/form-data"), form.data.body.includes('name="name"')], [true, true]);
    const failed = await client.get("/status/404").catch((error) => error);
    same("error", [axios.isAxiosError(failed), failed.response.status, failed.code], [true, 404, "ERR_BAD_REQUEST"]);
    const bytes = await client.get("/bytes", { responseType: "arraybuffer" });
    same("bytes", [...new Uint8Array(bytes.data)], [0, 1, 255]);
    const controller = new AbortController();
    controller.abort();
    const cancelled = await client.get("/echo", { signal: controller.signal }).catch((error) => error);
    same("cancelled", [axios.isCancel(cancelled), cancelled.code], [true, "ERR_CANCELED"]);
  },
  echo,
);

async function echo(request, url) {
  if (url.pathname.startsWith("/status/")) return new Response("status", { status: Number(url.pathname.slice(8)) });
  if (url.pathname === "/bytes") return new Response(new Uint8Array([0, 1, 255]));
  const { headers } = request;
  return Response.json({ method: request.method, query: decodeURIComponent(url.search), type: headers.get("content-type"), client: headers.get("x-client"), body: await request.text() });
}
