// The site of ../astro/.

import assert from "node:assert/strict";
import { counts, isStyled, look } from "./browser.mjs";

await look(async (page, url) => {
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();

  await page.goto(url);
  await heading("Astro on Hearth");
  await isStyled(page);
  await counts(page);
  await page.getByRole("link", { name: "The first post" }).click();
  await heading("The first post");
  assert.equal(page.url(), `${url}posts/first/`);
  await isStyled(page);
  assert.equal(await page.locator("strong").textContent(), "Markdown");
});
