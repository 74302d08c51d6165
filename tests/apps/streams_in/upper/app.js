// A chunk out for each chunk in.
export default {
  fetch(request) {
    const upper = new TransformStream({ transform: (text, controller) => controller.enqueue(text.toUpperCase()) });
    return new Response(request.body.pipeThrough(new TextDecoderStream()).pipeThrough(upper).pipeThrough(new TextEncoderStream()));
  },
};
