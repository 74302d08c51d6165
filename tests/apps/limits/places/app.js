// How many streams are open at the moment: with one place, never two.
let open = 0;
export default {
  fetch(request) {
    if (!request.url.endsWith("/hold")) return new Response(`${open} open`);
    open++;
    return new Response(new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("held")),
      cancel: () => void open--,
    }));
  },
};
