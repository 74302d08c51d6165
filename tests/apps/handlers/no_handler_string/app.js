export default "str";
