export default { routes: { "/wrong": 42 } };
