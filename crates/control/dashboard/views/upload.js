// Uploads: an archive that was picked or dropped, and its name and version. The name of a file made by npm pack,
// hello-1.2.0.tgz, contains both.

import { upload as sendFile } from "../parts/api.js";
import { ask } from "../parts/dialog.js";
import { el, field } from "../parts/dom.js";
import { bytes, plural } from "../parts/format.js";
import { bad, good } from "../parts/notices.js";

const ARCHIVE = /\.(tgz|tar\.gz|zip)$/i;
const PACKED = /^(.+?)[-@]v?(\d[\w.+-]*)\.(?:tgz|tar\.gz|zip)$/i;

/** Asks for missing values, and uploads. `name` and `file` are preset if known. */
export async function upload({ name = "", file = null }) {
  const nameField = el("input", { required: true, autocomplete: "off", spellcheck: "false" });
  nameField.value = name;
  const versionField = el("input", { required: true, autocomplete: "off", spellcheck: "false", placeholder: "1.2.3" });
  const ownerField = el("input", { autocomplete: "off", spellcheck: "false" });
  const picker = el("input", { type: "file", accept: ".tgz,.gz,.zip", change: () => choose(picker.files[0] ?? null) });
  const chosen = el("p", { class: "hint", role: "status" });
  const progress = el("progress", { max: "1", value: "0", hidden: true, "aria-label": "Uploaded" });
  const drop = el("div", { class: "drop" }, field("Archive (.tgz or .zip; pick it, or drop it here)", picker), chosen);
  const gone = new AbortController();
  acceptDrops(drop, gone.signal, choose);

  function choose(picked) {
    file = picked;
    chosen.textContent = file ? `${file.name}, ${bytes(file.size)}` : "Nothing is chosen.";
    const [, guessed, version] = PACKED.exec(file?.name ?? "") ?? [];
    nameField.value ||= guessed ?? "";
    versionField.value ||= version ?? "";
  }
  choose(file);

  const done = await ask({
    title: "Upload a version",
    body: el(
      "div",
      { class: "stack" },
      drop,
      field("Name", nameField),
      field("Version", versionField, {
        hint: "The same version again is a new revision: the one before is kept for a roll-back.",
      }),
      field("Owner (optional)", ownerField, { hint: "The app's own name if it is left empty." }),
      progress,
    ),
    yes: "Upload",
    act: async () => {
      if (!file) throw new Error("choose an archive first");
      const query = new URLSearchParams({ name: nameField.value.trim(), version: versionField.value.trim() });
      if (ownerField.value.trim()) query.set("owner", ownerField.value.trim());
      progress.hidden = false;
      try {
        return await sendFile(`/admin/apps?${query}`, file, (part) => (progress.value = part));
      } finally {
        progress.hidden = true;
      }
    },
  });
  gone.abort();
  if (!done) return;
  const { name: app, version, revision, files, size, state } = done;
  const said = `Uploaded ${app}@${version}, revision ${revision}: ${plural(files, "file")}, ${bytes(size)}, ${state}.`;
  (state === "failed" ? bad : good)(said);
}

/** Handles files that are dropped on the element. */
export function acceptDrops(element, signal, dropped) {
  const carriesFiles = (event) => [...event.dataTransfer.types].includes("Files");
  element.addEventListener(
    "dragover",
    (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      element.classList.add("over");
    },
    { signal },
  );
  element.addEventListener("dragleave", () => element.classList.remove("over"), { signal });
  element.addEventListener(
    "drop",
    (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      element.classList.remove("over");
      const [file] = event.dataTransfer.files;
      if (file && ARCHIVE.test(file.name)) dropped(file);
      else bad(`${file?.name ?? "That"} is no .tgz or .zip.`);
    },
    { signal },
  );
}
