module.exports = { module, require };
