interface Broken {
  name: string;
}

export default { fetch( { } };
