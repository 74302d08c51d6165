addEventListener("fetch", async () => {
  await null;
  return new Response("returned");
});
