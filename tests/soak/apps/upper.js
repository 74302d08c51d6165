// A body that passes through JavaScript, piece by piece.
import { answer } from "./common.js";

const upper = () => new TransformStream({ transform: (text, controller) => controller.enqueue(text.toUpperCase()) });

export default {
  fetch(request) {
    const text = request.body.pipeThrough(new TextDecoderStream()).pipeThrough(upper());
    return answer(request, text.pipeThrough(new TextEncoderStream()));
  },
};
