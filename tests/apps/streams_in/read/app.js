const readers = {
  text: (request) => request.text(),
  json: async (request) => JSON.stringify(await request.json()),
  arrayBuffer: async (request) => `${(await request.arrayBuffer()).byteLength} bytes`,
  bytes: async (request) => (await request.bytes()).join(),
  blob: async (request) => {
    const blob = await request.blob();
    return `${blob.size} ${blob.type} ${await blob.text()}`;
  },
  formData: async (request) => {
    const form = await request.formData();
    return `${form.get("name")} ${await form.get("file").text()} ${form.get("file").name}`;
  },
  form: async (request) => `${[...await request.formData()].join(" ")}`,
  iterate: async (request) => {
    let size = 0;
    for await (const chunk of request.body) size += chunk.length;
    return `${size}`;
  },
  body: (request) => `${request.body}`,
};
export default {
  fetch: async (request) => new Response(await readers[new URL(request.url).pathname.slice(1)](request)),
};
