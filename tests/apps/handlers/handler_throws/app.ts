type Order = { id: number };
let served = 0;

function find(order: Order): Order {
  if (order.id > 0) throw new Error(`no order ${order.id}`);
  return order;
}

export default {
  fetch(request: Request): Response {
    served++;
    if (request.url.endsWith("/throw")) find({ id: 7 });
    return new Response(`served ${served}`);
  },
};
