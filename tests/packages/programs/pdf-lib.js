// pdf-lib: a document with text and a form, read again.
import { PDFDocument, rgb, StandardFonts } from "pdf-lib";
import { program } from "../program.js";

export default program(async (same) => {
  const made = await PDFDocument.create();
  made.setTitle("A title");
  const font = await made.embedFont(StandardFonts.Helvetica);
  const page = made.addPage([200, 100]);
  page.drawText("Hello", { x: 10, y: 50, size: 12, font, color: rgb(1, 0, 0) });
  same("width", Math.round(font.widthOfTextAtSize("Hello", 12)), 27);
  const form = made.getForm();
  form.createTextField("name").setText("Ada");
  const back = await PDFDocument.load(await made.save());
  same("pdf-lib", [back.getTitle(), back.getPageCount(), back.getPage(0).getSize(), back.getForm().getTextField("name").getText()], ["A title", 1, { width: 200, height: 100 }, "Ada"]);
});
