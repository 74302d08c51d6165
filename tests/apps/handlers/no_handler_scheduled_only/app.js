export default { scheduled() {} };
