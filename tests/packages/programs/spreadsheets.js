// exceljs and xlsx: a workbook written by one and read by the other.
import ExcelJS from "exceljs";
import * as XLSX from "xlsx";
import { program } from "../program.js";

export default program(async (same) => {
  const workbook = new ExcelJS.Workbook();
  const sheet = workbook.addWorksheet("Sales");
  sheet.columns = [{ header: "Name", key: "name", width: 20 }, { header: "Sum", key: "sum", style: { numFmt: "0.00" } }];
  sheet.addRows([{ name: "tea", sum: 1.5 }, { name: "milk", sum: 2 }]);
  sheet.getCell("B4").value = { formula: "SUM(B2:B3)", result: 3.5 };
  sheet.getRow(1).font = { bold: true };
  const bytes = await workbook.xlsx.writeBuffer();
  const read = XLSX.read(bytes, { type: "buffer" });
  same("read by xlsx", XLSX.utils.sheet_to_json(read.Sheets.Sales), [{ Name: "tea", Sum: 1.5 }, { Name: "milk", Sum: 2 }, { Sum: 3.5 }]);
  const book = XLSX.utils.book_new();
  XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet([["a", "b"], [1, "x,y"]]), "S");
  const back = new ExcelJS.Workbook();
  await back.xlsx.load(XLSX.write(book, { type: "buffer", bookType: "xlsx" }));
  same("read by exceljs", back.getWorksheet("S").getRow(2).values.slice(1), [1, "x,y"]);
  same("csv", XLSX.utils.sheet_to_csv(book.Sheets.S), 'a,b\n1,"x,y"');
});
