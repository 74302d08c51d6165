// The service-worker style.
import { answer, sleep } from "./common.js";

addEventListener("fetch", (event) => {
  event.waitUntil(sleep(1));
  event.respondWith(sleep(1).then(() => answer(event.request)));
});
