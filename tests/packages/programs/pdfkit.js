// pdfkit: a document of two pages, read by pdf-lib.
import { PDFDocument } from "pdf-lib";
import PDFKit from "pdfkit";
import { program } from "../program.js";

export default program(async (same) => {
  const kit = new PDFKit({ size: "A5", info: { Title: "Kit" } });
  const chunks = [];
  kit.on("data", (chunk) => chunks.push(chunk));
  const ended = new Promise((resolve) => kit.on("end", resolve));
  kit.fontSize(20).text("Hello from the kit").moveDown().rect(50, 200, 60, 40).fill("#f00");
  kit.addPage().font("Courier").text("second page");
  kit.end();
  await ended;
  const read = await PDFDocument.load(Buffer.concat(chunks));
  same("pdfkit", [read.getTitle(), read.getPageCount()], ["Kit", 2]);
});
