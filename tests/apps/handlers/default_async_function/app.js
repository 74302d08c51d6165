export default async (request) => new Response(`arrow ${request.method}`);
