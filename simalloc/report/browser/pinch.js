/* Two fingers zoom and move a heap map; the touched points stay below the fingers. One finger scrolls the page. */

function listenToFingers(map) {
  let held;

  const fingers = (event) => {
    const box = map.canvas.getBoundingClientRect();
    const [one, other] = [...event.touches].map(({ clientX, clientY }) => [clientX, clientY]);
    return {
      x: ((one[0] + other[0]) / 2 - box.left - MARGIN.left) / map.frame.width,
      y: ((one[1] + other[1]) / 2 - box.top - MARGIN.top) / map.frame.height,
      apart: Math.max(1, Math.hypot(one[0] - other[0], one[1] - other[1])),
    };
  };

  const begin = (event) => {
    if (event.touches.length !== 2) return;
    event.preventDefault();
    const { x, y, apart } = fingers(event);
    const { left, right, low, high } = map.view;
    held = {
      event: left + x * (right - left), address: high - y * (high - low),
      wide: (right - left) * apart, tall: (high - low) * apart,
    };
  };

  const move = (event) => {
    if (!held || event.touches.length !== 2) return;
    event.preventDefault();
    const { x, y, apart } = fingers(event);
    const wide = held.wide / apart, tall = held.tall / apart;
    const left = held.event - x * wide, high = held.address + y * tall;
    map.show({ left, right: left + wide, low: high - tall, high });
  };

  const end = () => { held = undefined; };

  map.canvas.addEventListener("touchstart", begin, { passive: false });
  map.canvas.addEventListener("touchmove", move, { passive: false });
  map.canvas.addEventListener("touchend", end);
  map.canvas.addEventListener("touchcancel", end);
}
