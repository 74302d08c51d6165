addEventListener("fetch", (event) => {
  event.respondWith(new Response("first"));
  try {
    event.respondWith(new Response("second"));
  } catch (error) {
    console.log("second respondWith:", error.name);
  }
});
