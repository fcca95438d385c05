export { RemoteGroupStore } from './remote-group-store';
