/* A page that couldn't be shown tries again by itself. */

setTimeout(() => location.reload(), 10_000);
